/**
 * The parameter of a route's path. A path has at most one. `{id}` stands for the id of the request's object. Another name
 * is a field: it stands for the id of a collection's parent, as in `/projects/{projectId}/tasks`.
 */
const PARAMETER = /\{(?<name>[^{}]*)\}/

/** The name; undefined for a path without a parameter. */
export function parameterOf(path: string): string | undefined {
  return PARAMETER.exec(path)?.groups?.name
}

/** The field that names the parent. */
export function parentFieldOf(path: string): string | undefined {
  const name = parameterOf(path)
  return name === 'id' ? undefined : name
}

/** The beginning of every path that fits. */
export function beforeParameter(path: string): string {
  return path.slice(0, PARAMETER.exec(path)?.index)
}

/** `value`: percent-encoded. */
export function withParameter(path: string, value: string): string {
  return path.replace(PARAMETER, () => value)
}
