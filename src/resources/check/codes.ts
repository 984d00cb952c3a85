/**
 * Every code that a fault in a schema file can have, and what to do about it. test/resources/cases has a case for each.
 */

import { OWN_KEYWORDS_LISTED } from '../schema/own-keywords.ts'

const TAKEN_PATHS =
  '/livez, /readyz, /openapi.json, /metrics, /api/tokens, /api/tokens/current, /.well-known/jwks.json, ' +
  '/.well-known/authzen-configuration, /access-requests, and those of /access/v1/ and /policy/v1/'

export const SCHEMA_CODES = {
  'directory-unreadable': 'name the directory that holds the schema files, or make a project with `sallyport init`',
  'directory-empty': 'add a file `<resource>.json`',
  'file-name': 'write a name like `notes.json`: small letters, digits and `-`, beginning with a letter',
  'unknown-file': 'call it `<resource>.json`, or move it out of the folder',
  'file-unreadable': 'make it a file that this program can read',
  'file-encoding': 'save the file as UTF-8 without a byte order mark',
  'json-syntax': 'write strict JSON, without comments, trailing commas or a byte order mark',
  'json-depth': 'write it with fewer levels; a body has at most 32',
  'json-duplicate-key': 'keep one of them',
  'json-prototype-key': 'choose another name',
  'schema-dialect': 'write `https://json-schema.org/draft/2020-12/schema`',
  'schema-invalid': 'write it as JSON Schema 2020-12 requires',
  'schema-strict': 'write the schema so that every keyword has an effect',
  'schema-open': 'write `"type": "object"` with `"additionalProperties": false`, and the fields under `properties`',
  'keyword-unknown': `remove it or correct its spelling; keywords of Sallyport are ${OWN_KEYWORDS_LISTED}`,
  'keyword-misplaced': 'move it or remove it',
  'format-unknown':
    'use one of date, time, date-time, duration, email, hostname, ipv4, ipv6, uri, uri-reference, uuid, json-pointer',
  'unique-items-slow': 'give `items` the `type` string, number, integer or boolean',
  'ref-outside': 'put the schema under `$defs` of this file and refer to `#/$defs/<name>`',
  'ref-unknown': 'refer to a schema of this file, like `#/$defs/<name>`',
  'ref-loop': 'let the schema contain itself only in `properties` or `items`',
  'pattern-syntax': 'write a JavaScript regular expression with the flag `u`',
  'pattern-slow':
    'begin with `^`, let only one part match any given character, and use no lookaround, `\\b` or back-references',
  'field-name':
    'begin with a letter, use at most 64 letters, digits and `_`, and avoid `can`, the names of list parameters, and beside references `expand` and `expanded`',
  'server-field': 'declare `"type": "string"` and `"readOnly": true`',
  'required-undeclared': 'declare the field under `properties` or remove the name',
  'default-misfit': "give a default that fits the field's own schema",
  'index-value': 'write `true`, or omit the keyword',
  'index-not-scalar': 'use it only on a field of the type string, number, integer or boolean',
  'unique-together': 'write lists of fields, like `"x-unique": [["tenantId", "name"]]`',
  'reference-invalid': 'write `{ "resource": "orders", "onDelete": "restrict" }`, with `restrict`, `null` or `cascade`',
  'reference-unknown': 'name a resource of these schemas that is stored here',
  'reference-null':
    'take the field out of `required`, let its type be `["string", "null"]`, or write another `onDelete`',
  'reference-cascade': 'give the resource a path of its objects with the method DELETE, or write another `onDelete`',
  'resource-missing': 'add `"x-resource": { "routes": [...] }`',
  'resource-invalid': 'see docs/schemas.md, "Routes"',
  'route-path': 'write a path like `/api/notes`, `/api/notes/{id}` or `/api/books/{bookId}/notes`',
  'route-parent': 'name a field of this file whose `x-reference` names the resource of the path before it',
  'route-reserved': `choose another path; the server itself answers ${TAKEN_PATHS}`,
  'route-method':
    'use GET and POST for a collection, and GET, PUT, PATCH and DELETE for an item; omit HEAD and OPTIONS',
  'route-method-twice': 'keep one of them',
  'route-object': 'remove the parameter from the path of a route with `"object": "caller"`',
  'route-action': 'give the action a name that no built-in action has',
  'route-action-mixed': 'name one action for DELETE and another for the other methods',
  'route-redirect': 'name one other path that serves the requests itself',
  'route-lifecycle': 'write the dates in order, and another path as the successor',
  'route-precondition': 'remove it, or write it at the route that serves PUT, PATCH or DELETE',
  'route-events': 'write it at a route like `{ "path": "/orders/events", "methods": ["GET"], "events": {} }`',
  'route-clash': 'change one of the two paths',
  'history-invalid': 'write `"x-history": { "keep": "2y" }`, see docs/history.md',
  'command-invalid': 'see docs/commands.md, "The file"',
  'command-resource': 'name a resource of these schemas that is stored here, other than `users`',
  'command-field': 'name a field of the resource that clients may write, or that the command may look at',
  'command-value': 'give a value that the schema of the field accepts, or a member of `input`',
  external: 'see docs/schemas.md, "Resources kept elsewhere"',
} as const satisfies Readonly<Record<string, string>>

export type SchemaCode = keyof typeof SCHEMA_CODES
