/** Every code that a fault in a schema file has, and what to do about it. test/resources/cases has each of them. */

import { OWN_KEYWORDS_LISTED } from '../schema/own-keywords.ts'

export const SCHEMA_CODES = {
  'directory-unreadable': 'name the directory that holds the schema files',
  'directory-empty': 'add a file `<resource>.json`',
  'file-name': 'name it like `notes.json`: small letters, digits and `-`, a letter first',
  'file-unreadable': 'make it a file that this program may read',
  'file-encoding': 'save the file as UTF-8 without a byte order mark',
  'json-syntax': 'a schema file is strict JSON: no comments, no trailing commas, no byte order mark',
  'json-duplicate-key': 'keep one of them',
  'json-prototype-key': 'choose another name',
  'schema-dialect': 'write `https://json-schema.org/draft/2020-12/schema`',
  'schema-invalid': 'see JSON Schema 2020-12',
  'schema-strict': 'say it so that every keyword applies',
  'schema-open': 'a resource is `"type": "object"` with `"additionalProperties": false`, its fields under `properties`',
  'keyword-unknown': `remove it or mend its spelling; the own keywords are ${OWN_KEYWORDS_LISTED}`,
  'keyword-misplaced': 'move it or remove it',
  'format-unknown':
    'use one of date, time, date-time, duration, email, hostname, ipv4, ipv6, uri, uri-reference, uuid, json-pointer',
  'unique-items-slow': 'say that `items` has the `type` string, number, integer or boolean',
  'ref-outside': 'put the schema under `$defs` of this file and refer to `#/$defs/<name>`',
  'ref-unknown': 'refer to a schema of this file, like `#/$defs/<name>`',
  'ref-loop': 'a schema may contain itself only further down, in `properties` or `items`',
  'pattern-syntax': 'patterns are JavaScript regular expressions with the flag `u`',
  'pattern-slow':
    'begin with `^`, let only one part of the pattern match any given character, and use no lookaround, `\\b` or back-references',
  'field-name': 'use letters, digits and `_`, a letter first, at most 64; not a name that the query string has',
  'server-field': 'declare `"type": "string"` and `"readOnly": true`',
  'required-undeclared': 'declare the field under `properties` or remove the name',
  'default-misfit': "give a default that fits the field's own schema",
  'index-value': 'write `true`, or leave the keyword out',
  'index-not-scalar': 'only a field of the type string, number, integer or boolean can be indexed or unique',
  'resource-missing': 'add `"x-resource": { "routes": [...] }`',
  'resource-invalid': 'see docs/schemas.md, "Routes"',
  'route-path': 'write a path like `/api/notes` or `/api/notes/{id}`',
  'route-reserved':
    'choose another path; /livez, /readyz, /openapi.json, /metrics, /api/tokens, /api/tokens/current and /.well-known/jwks.json are taken',
  'route-method':
    'a collection takes GET and POST, an item GET, PUT, PATCH and DELETE; HEAD and OPTIONS come on their own',
  'route-method-twice': 'keep one of them',
  'route-object': 'a route with `"object": "caller"` has no `{id}`',
  'route-action': 'an own action has a name of its own',
  'route-action-mixed': 'name one action for DELETE and another for the other methods',
  'route-redirect': 'name the one path, other than its own, that serves the requests now',
  'route-lifecycle': 'write dates in order, and the path, other than its own, that stands in for the route',
  'route-precondition': 'remove it, or declare PUT, PATCH or DELETE on the route that serves them',
  'route-clash': 'change one of the two paths',
} as const satisfies Readonly<Record<string, string>>

export type SchemaCode = keyof typeof SCHEMA_CODES
