/** Edits of the shipped policy and what a diff says about each; adding a case is adding an entry. */
import type { Edits } from './shipped.ts'

interface Case {
  /** Where the comparison begins, if not at the shipped policy. */
  readonly first?: Edits
  readonly edits: Edits
  /** `+` widens, `-` narrows, `?` either, `=` neutral. */
  readonly says: readonly string[]
}

const line = (text: string): Edits => ({ 'policy.csv': [['', text]] })

/** `office`, `fresh` and `daytime` allow; `night` and `machine` deny. */
const USES_OF_CONDITIONS =
  'p, support, users, delete, office+fresh+daytime, *, allow\n' +
  'p, everyone, users, delete, night, *, deny\np, everyone, users, delete, machine, *, deny'

export const CASES: Readonly<Record<string, Case>> = {
  'a whole action is gained': {
    edits: line('p, support, orders, delete, any, *, allow'),
    says: ['+ support gains delete on orders (any, had owner+draft)'],
  },
  'what a role inherits changes its heirs too': {
    edits: line('p, member, notes, options|list, any, *, allow'),
    says: ['+ member (also: support) gains list on notes (any, had owner)'],
  },
  'a field is lost': {
    edits: {
      'views.yaml': [['users:\n', 'users:\n  mail: [email]\n']],
      'policy.csv': [['', 'p, member, users, read, owner, mail, deny']],
    },
    says: ['- member (also: support, admin) loses field email on users (read, owner)'],
  },
  'fields of an action that was refused': {
    edits: line('p, member, users, list, any, public, allow'),
    says: [
      '+ member gains list on users (any), only fields id, displayName and bio',
      '+ support gains field bio on users (list, any)',
      '- support loses filtering and sorting by field email on users (list)',
      '- admin loses filtering and sorting by fields email, department, createdAt and updatedAt on users (list)',
    ],
  },
  'a rule that adds no field to a list': {
    edits: line('p, admin, orders, list, owner, progress, allow'),
    says: [
      '- admin loses filtering and sorting by fields id, customerId, currency, createdAt and updatedAt on orders (list)',
    ],
  },
  'a view that loses a field': {
    edits: { 'views.yaml': [['contact: [id, displayName, email]', 'contact: [id, displayName]']] },
    says: [
      '- support loses field email on users (list, any)',
      '- support loses field email on users (read, any, keeps owner)',
    ],
  },
  'a view of a route that gains a field': {
    edits: { 'views.yaml': [['balance: [id, currency, balance]', 'balance: [id, currency, balance, name]']] },
    says: ['+ route /api/accounts/{id}/balance also shows field name'],
  },
  'a relation that is no longer needed': {
    edits: {
      'policy.csv': [['delete,                                 owner+draft,', 'delete, owner,']],
    },
    says: ['+ member (also: support) gains delete on orders (owner, had owner+draft)'],
  },
  'a deny that is gone matters to two roles together': {
    edits: { 'policy.csv': [['p, auditor, *,        create|replace|update|delete, any, *, deny\n', '']] },
    says: [
      '+ auditor together with admin gains create and update on accounts (any)',
      '+ auditor together with member (also: support, admin) gains create, replace, update and delete on notes (owner)',
      '+ auditor together with member (also: support, admin) gains create, replace, update and delete on orders (as far as the other grants it)',
      '+ auditor together with admin gains create, replace and delete on users (any)',
      '+ auditor together with member (also: support, admin) gains update on users (as far as the other grants it)',
    ],
  },
  'a deny takes an action away where a relation holds': {
    edits: { 'policy.csv': [['', 'p, auditor, notes, read, owner, *, deny']] },
    says: ['- auditor loses read on notes (owner)'],
  },
  'an order is frozen after shipping': {
    edits: {
      'ownership.yaml': [
        [
          'draft: { field: status, in: [draft] }',
          'draft: { field: status, in: [draft] }\n    frozen: { field: status, in: [placed, shipped] }',
        ],
      ],
      'policy.csv': [['', 'p, everyone, orders, update|replace|delete, frozen, *, deny']],
    },
    says: [
      '- support loses update on orders (placed>cancelled, or placed>shipped)',
      '- admin loses replace and delete on orders (frozen)',
      '- admin loses update on orders (shipped, or placed)',
    ],
  },
  'placed orders are hidden from support alone': {
    edits: {
      'policy.csv': [['', 'p, support, orders, read, placed, *, deny']],
    },
    says: ['- support loses read on orders (placed)'],
  },
  'one contractor gets one object': {
    edits: {
      'ownership.yaml': [
        [
          'notes:\n  relations:\n',
          'notes:\n  relations:\n    handover: { field: id, in: [01890a5d-ac96-774b-bcce-b302099a8057] }\n',
        ],
      ],
      'policy.csv': [['', 'p, user:carl, notes, read|update, handover, *, allow']],
    },
    says: ['+ user:carl gains read and update on notes (handover)'],
  },
  'everything is taken from a user': {
    edits: line('p, user:mallory, *, *, any, *, deny'),
    says: [
      '- user:mallory loses options on accounts, notes and orders (any)',
      '- user:mallory loses options and profile on users (any)',
      '- user:mallory together with member (also: support, auditor, admin) loses list and read on accounts, notes and orders (as far as the other grants it)',
      '- user:mallory together with admin loses create and update on accounts (any)',
      '- user:mallory together with member (also: support, admin) loses create, replace, update and delete on notes (owner)',
      '- user:mallory together with member (also: support, admin) loses create, replace, update, delete and place on orders (as far as the other grants it)',
      '- user:mallory together with support (also: admin) loses cancel and ship on orders (as far as the other grants it)',
      '- user:mallory together with support (also: auditor, admin) loses list on users (any)',
      '- user:mallory together with member (also: support, auditor, admin) loses read on users (as far as the other grants it)',
      '- user:mallory together with admin loses create, replace and delete on users (any)',
      '- user:mallory together with member (also: support, admin) loses update on users (as far as the other grants it)',
    ],
  },
  'blocks that have ended come and go': {
    first: { 'blocked.txt': [['', 'user:ann until=1961-01-01T00:00:00Z\nuser:ben until=1961-01-01T00:00:00Z']] },
    edits: {
      'blocked.txt': [['', 'user:ben until=1962-01-01T00:00:00Z\nuser:cem until=1961-01-01T00:00:00Z']],
    },
    says: [],
  },
  'a block that has ended begins anew': {
    first: { 'blocked.txt': [['', 'user:ann until=1961-01-01T00:00:00Z']] },
    edits: { 'blocked.txt': [['', 'user:ann']] },
    says: ['- user:ann is blocked'],
  },
  'a user is blocked': {
    edits: { 'blocked.txt': [['', 'user:mallory\nuser:eve until=2030-01-01T00:00:00+01:00']] },
    says: ['- user:eve is blocked until 2029-12-31T23:00:00Z', '- user:mallory is blocked'],
  },
  'a role is added': {
    edits: {
      'roles.yaml': [['', 'intern:\n  description: Reads orders.']],
      'policy.csv': [['', 'p, intern, orders, read, any, *, allow']],
    },
    says: ['+ intern gains read on orders (any)', '= role intern is declared'],
  },
  'a role is removed': {
    edits: {
      'roles.yaml': [['auditor:\n  description: Sees everything, changes nothing.\n', '']],
      'policy.csv': [
        ['p, auditor, notes,    list|read,                    any, *, allow\n', ''],
        ['p, auditor, orders,   list|read,                    any, *, allow\n', ''],
        ['p, auditor, accounts, list|read,                    any, *, allow\n', ''],
        ['p, auditor, users,    list|read,                    any, *, allow\n', ''],
        ['p, auditor, *,        create|replace|update|delete, any, *, deny\n', ''],
        ['p, auditor, system/health, read, any, *, allow\n', ''],
        ['p, auditor,  system/policy, read|explain|read-decisions,                     any, *, allow\n', ''],
      ],
    },
    says: [
      '+ auditor together with admin gains create and update on accounts (any)',
      '+ auditor together with member (also: support, admin) gains create, replace, update and delete on notes (owner)',
      '+ auditor together with member (also: support, admin) gains create, replace, update and delete on orders (as far as the other grants it)',
      '+ auditor together with admin gains create, replace and delete on users (any)',
      '+ auditor together with member (also: support, admin) gains update on users (as far as the other grants it)',
      '- auditor loses list and read on accounts, notes, orders and users (any)',
      '- auditor loses field checks on system/health (read, any)',
      '- auditor loses read, explain and read-decisions on system/policy (any)',
      '= role auditor is no longer declared',
    ],
  },
  'a role no longer inherits': {
    edits: { 'policy.csv': [['g, support, member\n', '']] },
    says: [
      '+ rate limit of member no longer counts support',
      '- support loses list and read on accounts (owner)',
      '- support loses list, read, create, replace, update and delete on notes (owner)',
      '- support loses create, delete and place on orders (owner+draft)',
      '- support loses replace on orders (owner+draft>draft, or owner+draft>placed)',
      '- support loses update on orders (owner+draft>open)',
      '- support loses fields bio, department, roles, createdAt and updatedAt on users (read, owner)',
      '- support loses update on users (owner)',
    ],
  },
  'a relation compares another field': {
    edits: { 'ownership.yaml': [['    owner: customerId', '    owner: note']] },
    says: [
      '? relation owner on orders compares customerId -> note',
      '? field for the creator of a new object of orders: customerId -> note',
    ],
  },
  'a state has one more value': {
    edits: { 'ownership.yaml': [['in: [draft]', 'in: [draft, placed]']] },
    says: ['+ relation draft on orders compares status in draft -> status in draft or placed'],
  },
  'a relation has another name': {
    edits: {
      'ownership.yaml': [['draft: { field', 'unsent: { field']],
      'policy.csv': [
        ['create,                                 owner+draft,', 'create, owner+unsent,'],
        ['replace|update,                         owner+draft>draft,', 'replace|update, owner+unsent>unsent,'],
        ['replace|update,                         owner+draft>placed,', 'replace|update, owner+unsent>placed,'],
        ['delete,                                 owner+draft,', 'delete, owner+unsent,'],
        ['place,                                  owner+draft,', 'place, owner+unsent,'],
      ],
    },
    says: [],
  },
  'everybody gains something': {
    edits: line('p, everyone, notes, list|read, any, *, allow'),
    says: [
      '+ everyone (no change for: member, support, auditor, admin) gains list and read on notes (any)',
      '+ member (also: support) gains list and read on notes (any, had owner)',
    ],
  },
  'who has no credentials is granted what only a relation to a caller would give': {
    edits: line('p, anonymous, notes, list, owner, *, allow'),
    says: [],
  },
  'somebody gains something that no object can meet': {
    edits: {
      'ownership.yaml': [
        [
          '  relations:\n    owner: customerId',
          '  relations:\n    sent: { field: status, in: [shipped] }\n    owner: customerId',
        ],
      ],
      'policy.csv': [['', 'p, anonymous, orders, read, draft+sent, *, allow']],
    },
    says: ['+ anonymous gains read on orders (sent+draft), which no object can meet'],
  },
  'a deny that only matters to two roles together': {
    edits: {
      'policy.csv': [
        ['', 'p, auditor, orders, read, owner+draft, progress, deny\np, support, notes, read, any, *, deny'],
      ],
    },
    says: [
      '- support loses read on notes (owner)',
      '- auditor loses field status on orders (read, owner+draft)',
      '- support together with auditor (also: admin) loses read on notes (without owner)',
    ],
  },
  'a rule that another covers, or a deny of what nobody has': {
    edits: line('p, admin, orders, read, owner, progress, allow\np, member, accounts, delete, any, *, deny'),
    says: [],
  },
  'limits change': {
    edits: {
      'limits.yaml': [
        ['body: 100kb', 'body: 1mb'],
        ['object: 1mb', 'object: 2mb'],
        ['answer: 10mb', 'answer: 5mb'],
        ['default: 50, max: 200', 'default: 20, max: 100'],
        ['allow: 300', 'allow: 100'],
        ['{ per: address, allow: 12000, window: 60s }', '{ per: address, allow: 1200, window: 6s }'],
        ['match: { role: member }', 'match: { role: member, action: list }'],
        ['', '  writes: { per: subject, allow: 60, window: 1m, match: { resource: orders, action: create } }'],
      ],
    },
    says: [
      '+ rate limit of member counts role member -> action list and role member',
      '+ largest body 100kb -> 1mb',
      '+ largest object 1mb -> 2mb',
      '? rate limit of address 12000 -> 1200, window 1m -> 6s',
      '- rate limit of bad-credentials 300 -> 100',
      '- rate limit writes is new: 60 in 1m per subject, counts action create and resource orders',
      '- largest answer 10mb -> 5mb',
      '- largest page 200 -> 100',
      '= default page 50 -> 20',
    ],
  },
  'records hold more, and less': {
    first: { 'masks.yaml': [['', 'fields: [address]\nfacts: { orders: [status] }']] },
    edits: { 'masks.yaml': [['', 'fields: [address, subject]\nfacts: { users: ["*"] }']] },
    says: [
      '= decision records hold orders.status from now on',
      '= decision records mask subject from now on',
      '= decision records mask users.* from now on',
    ],
  },
  'an asking service is trusted more, and less': {
    first: {
      'callers.yaml': [
        [
          '',
          'support:\n  subjects: { user: token, badge: { asserted: [member] } }\n  resources: { orders: asserted }\n',
        ],
      ],
    },
    edits: {
      'callers.yaml': [
        [
          '',
          'support:\n  subjects: { user: directory, badge: { asserted: [member, auditor] } }\n  fields: understood\n' +
            '  actions: { "*": { can_read: read } }\n  profiles: [nginx]\nadmin: { fields: understood }\n',
        ],
      ],
    },
    says: [
      '+ caller support: subject user token -> directory',
      '+ caller support: role auditor of badge none -> asserted',
      '+ caller support: fields none -> understood',
      '+ caller support: action can_read of * none -> read',
      '+ caller admin: fields none -> understood',
      '? caller support: profile nginx none -> usable',
      '- caller support: attributes of orders asserted -> none',
      '- caller support: profile each -> none',
      '- caller admin: its entry also bounds what other roles of the same caller may assert',
    ],
  },
  'a condition means something else, another is written otherwise, and one is new': {
    first: {
      'policy.csv': [['', 'p, admin, users, delete, office, *, allow\np, admin, users, create, fresh, *, allow']],
      'conditions.yaml': [['', 'office: { network: [192.0.2.0/24] }\nfresh: { signedIn: { within: 60m } }']],
    },
    edits: {
      'policy.csv': [['', 'p, admin, users, delete, office, *, allow\np, admin, users, create, fresh, *, allow']],
      'conditions.yaml': [
        [
          '',
          'fresh: { signedIn: { within: 1h } }\noffice: { network: [198.51.100.0/24] }\nmachine: { credential: [api-key] }',
        ],
      ],
    },
    says: ['? condition office: "the address is in 192.0.2.0/24" -> "the address is in 198.51.100.0/24"'],
  },
  'conditions hold for more requests, and for fewer': {
    first: {
      'policy.csv': [['', USES_OF_CONDITIONS]],
      'conditions.yaml': [
        [
          '',
          'office: { network: [192.0.2.0/24] }\nfresh: { signedIn: { within: 15m } }\n' +
            'daytime: { days: mon-fri, from: "08:00", to: "18:00", zone: UTC }\n' +
            'night: { days: mon, from: "22:00", to: "06:00", zone: UTC }\n' +
            'machine: { credential: [api-key] }\nunused: { credential: [api-key] }\n',
        ],
      ],
    },
    edits: {
      'policy.csv': [['', USES_OF_CONDITIONS]],
      'conditions.yaml': [
        [
          '',
          'office: { network: [192.0.0.0/16] }\nfresh: { signedIn: { within: 10m } }\n' +
            'daytime: { days: mon-fri, from: "07:00", to: "18:00", zone: UTC }\n' +
            'night: { days: mon, from: "22:00", to: "20:00", zone: UTC }\n' +
            'machine: { credential: [api-key, provider] }\nunused: { credential: [password] }\n',
        ],
      ],
    },
    says: [
      '+ condition office: "the address is in 192.0.2.0/24" -> "the address is in 192.0.0.0/16"',
      '+ condition daytime: "the clock of UTC shows 08:00 to 18:00 on mon-fri" -> "the clock of UTC shows 07:00 to 18:00 on mon-fri"',
      '- condition fresh: "the caller signed in at most 15m ago" -> "the caller signed in at most 10m ago"',
      '- condition night: "the clock of UTC shows 22:00 to 06:00 on mon, over midnight" -> "the clock of UTC shows 22:00 to 20:00 on mon, over midnight"',
      '- condition machine: "the credential is an API key" -> "the credential is an API key or a token of an OpenID provider"',
      '= condition unused: "the credential is an API key" -> "the credential is a token of this server\'s sign-in"',
    ],
  },
  'a limit is renamed, and one is gone': {
    edits: {
      'limits.yaml': [
        ['  address:         {', '  everything: {'],
        ['  bad-credentials: { per: address, allow: 300, window: 60s, match: { credentials: rejected } }\n', ''],
      ],
    },
    says: [
      '+ rate limit bad-credentials is gone: 300 in 1m per address, counts credentials rejected',
      '= rate limit address is now named everything',
    ],
  },
  'a limit is counted otherwise': {
    edits: {
      'limits.yaml': [
        [
          '{ per: address, allow: 12000, window: 60s }',
          '{ per: address, allow: 12000, window: 60s, match: { role: everyone } }',
        ],
        [
          '{ per: subject, allow: 6000, window: 60s, match: { role: member } }',
          '{ per: address, allow: 6000, window: 30s, match: { role: admin } }',
        ],
        ['allow: 300, window: 60s, match: { credentials: rejected } }', 'allow: 300, window: 1h }'],
      ],
    },
    says: [
      '? rate limit of member window 1m -> 30s, per subject -> address, counts role member -> role admin',
      '- rate limit of bad-credentials window 1m -> 1h, counts credentials rejected -> every request',
    ],
  },
  'blocks end sooner, later, never or at once': {
    first: {
      'blocked.txt': [
        [
          '',
          'user:ann until=2030-01-01T00:00:00Z\nuser:ben until=2030-01-01T00:00:00Z\nuser:cem until=2030-01-01T00:00:00Z\nuser:dot',
        ],
      ],
    },
    edits: {
      'blocked.txt': [['', 'user:ann until=2029-01-01T00:00:00Z\nuser:ben until=2031-01-01T00:00:00Z\nuser:cem']],
    },
    says: [
      '+ user:ann is blocked until 2030-01-01T00:00:00Z -> 2029-01-01T00:00:00Z',
      '+ user:dot is no longer blocked',
      '- user:ben is blocked until 2030-01-01T00:00:00Z -> 2031-01-01T00:00:00Z',
      '- user:cem is blocked until 2030-01-01T00:00:00Z -> forever',
    ],
  },
  'what was set is set no longer': {
    first: { 'ownership.yaml': [['notes:\n', 'notes:\n  conceal: true\n']] },
    edits: {
      'roles.yaml': [['changes its status.\n  privileged: true', 'changes its status.']],
      'views.yaml': [['balance: [id, currency, balance]', 'balance: [id]']],
      'ownership.yaml': [['notes:\n  relations:\n    owner: ownerId\n', '']],
      'policy.csv': [
        [
          'p, member, notes,    list|read|create|replace|update|delete, owner,',
          'p, member, notes,    list|read|create|replace|update|delete, any,',
        ],
      ],
    },
    says: [
      '+ member (also: support) gains list and read on notes (any, had owner)',
      '+ member (also: support, admin) gains create, replace, update and delete on notes (any, had owner)',
      '+ an object of notes that a caller may not read is no longer concealed (403 instead of 404)',
      '? field for the creator of a new object of notes: ownerId -> none',
      '- route /api/accounts/{id}/balance no longer shows fields currency and balance',
      '= role support is no longer marked privileged',
    ],
  },
  'who comes with a role from an OpenID provider': {
    first: { 'roles.yaml': [['changes its status.', 'changes its status.\n  claims: [helpdesk, old]']] },
    edits: {
      'roles.yaml': [
        ['changes its status.', 'changes its status.\n  claims: [helpdesk, /groups/new]'],
        ['auditor:\n', 'auditor:\n  claims: [audit]\n'],
      ],
    },
    says: [
      '+ role support comes with the OpenID claim value /groups/new',
      '+ role auditor comes with the OpenID claim value audit',
      '- role support no longer comes with the OpenID claim value old',
    ],
  },
  'what changes no request': {
    edits: {
      'roles.yaml': [
        ['auditor:\n', 'auditor:\n  privileged: true\n'],
        ['', 'visitor:\n  description: Nobody yet.'],
      ],
    },
    says: ['= role auditor is marked privileged', '= role visitor is declared'],
  },
  'objects are concealed': {
    edits: { 'ownership.yaml': [['notes:\n', 'notes:\n  conceal: true\n']] },
    says: ['- an object of notes that a caller may not read is concealed (404 instead of 403)'],
  },
  'text alone': {
    edits: {
      'policy.csv': [
        [
          'p, member, notes,    list|read|create|replace|update|delete, owner,              *,        allow',
          'p, member, notes, update|delete, owner, *, allow\np, member, notes, list|read|create|replace, owner, *, allow\np, admin, notes, delete, owner, *, allow',
        ],
      ],
      'roles.yaml': [['description: Runs the place.', 'description: In charge.']],
      'limits.yaml': [
        ['100kb', '102400b'],
        ['6000, window: 60s', '6000, window: 1m'],
      ],
    },
    says: [],
  },
}
