/** The codes of errors, which the server refuses too. The parser (src/policy) finds them; this table explains them. */
import { type CodeEntry, codeEntry as entry } from './check.ts'

export const ERROR_CODES: readonly CodeEntry[] = [
  entry(
    'file-unreadable',
    'A file of the policy is missing, or is not readable',
    'Restore it: a policy has seven files',
  ),
  entry(
    'apply-unfinished',
    'A `policy apply` is writing the files, or was killed while it did; the previous files are in force',
    'Wait for it, or run `sallyport policy apply` or `sallyport policy rollback` again',
  ),
  entry(
    'unknown-file',
    'The folder has a file that no policy has, perhaps because of a typing error (`masks.yml`): nothing in it would be ' +
      'in force',
    'Rename it as the message says, or move it out of the folder',
  ),
  entry('not-utf8', 'The file is not UTF-8', 'Save it as UTF-8 without a byte order mark'),
  entry(
    'invisible-character',
    'The file has an invisible character (no-break space, zero-width space, control character), so a name differs ' +
      'from the name that you see',
    'Delete it, or write a plain space',
  ),
  entry(
    'model-changed',
    '`model.conf` differs from the shipped file, and lists, fields and the index of rules depend on that file',
    'Restore the shipped file; rules go into `policy.csv`',
  ),
  entry(
    'rule-kind',
    'A line of `policy.csv` starts with neither `p` nor `g`',
    'Start it with `p` (a rule) or `g` (a role link); comments start with `#`',
  ),
  entry(
    'rule-columns',
    'A line has too few columns or too many',
    'Write `p, subject, resource, action, relation, fields, effect` or `g, role, inherited role`',
  ),
  entry(
    'rule-until',
    'The end of a rule (`until=`) is not a time in RFC 3339 with an offset, on a day that exists',
    'Write it as in `until=2027-01-31T18:00:00Z`',
  ),
  entry('link-until', 'A `g` line has an end', 'Write `until=` on the rules that should end'),
  entry(
    'rule-quotes',
    'The quotes of a line are not well-formed CSV',
    'Write `""` for a quote inside quotes, and close each quoted cell',
  ),
  entry(
    'rule-behind-end',
    'A rule is after `# end of policy`, which must be the last line',
    'Move it before that line',
  ),
  entry(
    'policy-incomplete',
    'The last line `# end of policy` is missing, and the policy in force has it: the file may be cut off',
    'Save the whole file, or write that line at its end; a server that restarts accepts the file without it',
  ),
  entry('rule-lines', 'A quoted cell spans several lines', 'Write each rule on one line, and close the quotes'),
  entry(
    'unknown-role',
    'A role, or the subject of a rule, is not declared (names are case-sensitive)',
    'Declare it in `roles.yaml`, correct it, or write `everyone`, `anonymous` or `user:<id>`',
  ),
  entry(
    'user-id',
    'The id after `user:` is not 1 to 128 characters long, or starts or ends with a space',
    'Write `user:<id>`, in quotes if the id has a comma',
  ),
  entry(
    'unknown-resource',
    'No schema declares the resource (names are case-sensitive)',
    'Correct it, or write `*` for every resource of `schemas/`',
  ),
  entry(
    'unknown-action',
    'The resource has no such action (names are case-sensitive)',
    'Correct it, or write `*` for all',
  ),
  entry('action-list', 'A cell names an action twice, or other actions beside `*`', 'Name each once; write `*` alone'),
  entry(
    'unknown-relation',
    'The relation is not declared for the resource',
    'Declare it in `ownership.yaml`, correct it, or write `any`',
  ),
  entry(
    'relation-list',
    'A relation column is not `any` or names joined with `+`, perhaps with one `>`: a name is missing or stands twice',
    'Name each once; write `any` alone on its side',
  ),
  entry(
    'term-contradiction',
    'One side of a relation column names a relation or condition with and without `!`',
    'Keep one of the two terms',
  ),
  entry(
    'right-side-action',
    'A rule with `>` names an action that not only PUT or PATCH have, or `*`; only a write to a stored object has a result',
    'Name `replace`, `update`, or an action of the schema that only PUT or PATCH have',
  ),
  entry(
    'right-side-condition',
    'A condition is on the right side of `>`; a write changes an object, not the request',
    'Move it to the left side',
  ),
  entry(
    'too-many-relations',
    'The rules about one action of a resource name more than 12 relations, those that `all` and `any` join included',
    'Join some of them in one relation, by a field that says the same',
  ),
  entry(
    'unknown-view',
    'The view is not declared for the resource',
    'Declare it in `views.yaml`, correct it, or write `*` for all fields',
  ),
  entry('view-list', 'A cell names a view twice, or other views beside `*`', 'Name each once; write `*` alone'),
  entry(
    'unknown-effect',
    'The last column is neither `allow` nor `deny`; a comment after it is part of the cell',
    'Write exactly `allow` or `deny`; put comments on their own lines',
  ),
  entry('role-cycle', 'A role inherits itself through other roles', 'Delete one of the `g` lines'),
  entry(
    'yaml-syntax',
    'The file is not valid YAML, has a key twice, or has too many levels of lists and mappings',
    'Fix what the message names',
  ),
  entry('yaml-alias', 'The file uses an alias (`*name`)', 'Write the value out'),
  entry(
    'yaml-shape',
    'A key or a value is not what the JSON Schema of the file allows; an editor with that schema shows the place',
    'Fix what the message names',
  ),
  entry('unknown-field', 'The resource has no such field', 'Write a field of its schema'),
  entry(
    'incomparable-field',
    'A relation compares a field that is an object or has no type',
    'Compare a field of type string, number, integer or boolean, or a list of these',
  ),
  entry(
    'constant-type',
    'A relation compares a field with a constant of another type',
    'Write a constant of the type of the field',
  ),
  entry(
    'range-field',
    'A relation with `atLeast` or `atMost` compares a field that has no numbers',
    'Compare a field of type number or integer, or a list of these',
  ),
  entry('range-empty', 'No number lies between the bounds of a relation', 'Swap `atLeast` and `atMost`'),
  entry(
    'time-field',
    'A relation with `before` or `after` compares a field that has no date-times',
    'Compare a field of type string, or a list of strings',
  ),
  entry('time-empty', 'No time lies between `after` and `before` of a relation', 'Swap them'),
  entry(
    'id-field',
    'The field of `through` or `where` can not have the ids of objects',
    'Name a field of type string, or a list of strings',
  ),
  entry(
    'target-external',
    'A relation leads to objects that are kept elsewhere, so the server can not look them up',
    'Compare a field of the resource itself; the service asserts it',
  ),
  entry(
    'climb-resource',
    'A relation with `depth` leads to another resource; it climbs within one',
    'Write the own resource after `to`, or omit `depth`',
  ),
  entry(
    'relation-circle',
    'A relation rests on itself, perhaps through others',
    'Name a relation that does not lead back',
  ),
  entry(
    'relation-chain',
    'A relation takes more than four steps from object to object, or climbs twice',
    'Let the schema name the farther object directly',
  ),
  entry(
    'fill-twice',
    'Two relations fill the same field of a new object; the relation `owner` always fills',
    'Keep `fill: true` at one of them',
  ),
  entry(
    'name-twice',
    'A name is a condition of `conditions.yaml` and a relation of `ownership.yaml`, and a rule could mean either',
    'Give one of them another name',
  ),
  entry(
    'network-form',
    'A network of a condition is not in CIDR form, or has bits set behind its network bits',
    'Write it as in `192.0.2.0/24` or `"2001:db8::/32"`',
  ),
  entry(
    'day-names',
    'The days of a condition are not days of the week',
    'Write them as in `mon-fri`, `sat` or `mon,wed,fri`',
  ),
  entry('time-of-day', 'A time of a condition is not hours and minutes', 'Write it as in `"08:00"`'),
  entry('time-zone', 'The time zone of a condition is unknown', 'Write its name in the IANA database: `Europe/Berlin`'),
  entry(
    'hours-empty',
    'The hours of a condition begin and end at the same time',
    'Write another time; whole days are `"00:00"` to `"24:00"`',
  ),
  entry('sign-in-age', 'The age of a sign-in is not a duration', 'Write it as in `90s`, `15m`, `12h` or `30d`'),
  entry(
    'page-size',
    'In `limits.yaml`, the default page size is larger than the largest one',
    'Lower `default`, or raise `max`',
  ),
  entry('limit-subject', 'A limit per subject counts requests that have no subject', 'Write `per: address`'),
  entry(
    'unknown-condition',
    '`callers.yaml` names a condition that `conditions.yaml` does not declare',
    'Declare it there, as in `soft: { asserted: true }`, or correct it',
  ),
  entry(
    'alias-action',
    'In `callers.yaml`, another name for an action is an action itself, so its meaning would change',
    'Delete the line, or choose another name',
  ),
  entry(
    'caller-addresses',
    'In `callers.yaml`, an entry of a user has `addresses`; a connection proves a role, never a user',
    'Give the gateway a role of its own, and name the role',
  ),
  entry(
    'addresses-of-all',
    'In `callers.yaml`, `addresses` has the network of every address, so everybody would be the gateway',
    'Name the networks from which the gateway alone can connect',
  ),
  entry(
    'addresses-shared',
    'Two entries of `callers.yaml` share addresses, so a connection could be either gateway',
    'Give each gateway networks of its own',
  ),
  entry(
    'guarantee-kind',
    'An entry of `guarantees.yaml` says nothing, or several things such as `never` and `always`',
    'Write one of them in each entry',
  ),
  entry('guarantee-twice', 'Two guarantees have the same name, so a report could mean either', 'Rename one of them'),
  entry(
    'guarantee-fields',
    'A guarantee names fields and an action without fields',
    'Leave `fields` out, or write a guarantee of its own for this action',
  ),
  entry(
    'guarantee-idle',
    "A guarantee can't matter: no client writes the field, `any` always holds, or no object can have both acts",
    'Leave the field out, name a relation, or add `anywhere: true`',
  ),
  entry(
    'roles-apart',
    'A role inherits two roles that a guarantee keeps apart, so nobody could have it',
    'Remove one of its lines that inherit them, or change the guarantee',
  ),
  entry(
    'guarantee-broken',
    'The policy breaks a guarantee of `guarantees.yaml`; the message and the counterexample say how',
    'Change the line, or the guarantee',
  ),
  entry(
    'guarantee-undecided',
    'Whether the policy keeps a guarantee is not decided, which counts as broken: its rules tell too many situations ' +
      "apart, no request was found that shows the break, or the guarantee can't matter",
    'Name fewer relations and conditions, or correct the guarantee',
  ),
  entry(
    'approvals-key',
    'A key of `approvals.yaml` is private, of another kind than Ed25519, cut, written twice, or a key that two people have',
    'Give each person a key of their own, made with `ssh-keygen -t ed25519`, and write its public half',
  ),
  entry(
    'unknown-group',
    'A need of `approvals.yaml` names a group that nobody in `people` is in',
    'Correct it, or add the group to the people',
  ),
  entry(
    'approvals-unmet',
    'A need of `approvals.yaml` asks for more people than there are beside the author, so it would refuse each later version',
    'Lower the number, or add people',
  ),
  entry(
    'approvals-touch',
    'An entry of `touches` in `approvals.yaml` names a resource and a file, neither, or a file that no policy has',
    'Name one resource, or files of the policy',
  ),
  entry('subscription-faulty', 'An entry of `subscriptions.yaml` is faulty', 'Correct it as the message says'),
  entry(
    'blocked-line',
    'A line of `blocked.txt` is not `user:<id>`, optionally followed by `until=<time>`; for example, its time lacks `until=`',
    'Write it as in `user:mallory until=2027-01-31T18:00:00Z`, and an id with a space in quotes: `"user:first last"`',
  ),
  entry(
    'blocked-until',
    'The time after `until=` is not RFC 3339 with an offset',
    'Write it as in `2027-01-31T18:00:00Z`',
  ),
]
