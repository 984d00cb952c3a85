/** The objects of the AuthZEN Authorization API 1.0, with its names: what is asked, and what is answered. */

export type Properties = Readonly<Record<string, unknown>>

export interface Subject {
  readonly type: string
  /** Unique within the type. */
  readonly id: string
  readonly properties?: Properties | undefined
}

export interface Resource {
  readonly type: string
  /** Unique within the type. */
  readonly id: string
  readonly properties?: Properties | undefined
}

export interface Action {
  readonly name: string
  readonly properties?: Properties | undefined
}

/** May this subject do this action with this resource? */
export interface Question {
  readonly subject: Subject
  readonly action: Action
  readonly resource: Resource
  readonly context?: Properties | undefined
}

export interface Decision {
  readonly decision: boolean
  /** Reasons, fields, obligations: whatever the server adds. */
  readonly context?: Properties
}

/** Of a batch: `execute_all` answers each question, the others stop after the first denial or the first permit. */
export type Semantic = 'execute_all' | 'deny_on_first_deny' | 'permit_on_first_permit'

/** What is searched, the question that is asked, and an entity that is found. */
export interface Searches {
  readonly subject: {
    readonly query: Omit<Question, 'subject'> & { readonly subject: Omit<Subject, 'id'> }
    readonly found: Subject
  }
  readonly resource: {
    readonly query: Omit<Question, 'resource'> & { readonly resource: Omit<Resource, 'id'> }
    readonly found: Resource
  }
  readonly action: { readonly query: Omit<Question, 'action'>; readonly found: Action }
}

export type Searched = keyof Searches

/** Which part of the results is wanted. */
export interface Page {
  readonly limit?: number | undefined
  /** `nextToken` of the page before. */
  readonly token?: string | undefined
}

export interface Found<Entity> {
  readonly results: readonly Entity[]
  /** Undefined: there are no more results. */
  readonly nextToken: string | undefined
  readonly context: Properties | undefined
}
