// Who may do what with notes, in CASL: a member with their own, an admin with all.
import { AbilityBuilder, createMongoAbility, subject } from '@casl/ability'

export function canRead(user, note) {
  return abilityOf(user).can('read', subject('Note', note))
}

function abilityOf({ role, sub }) {
  const { can, build } = new AbilityBuilder(createMongoAbility)
  if (role === 'admin') can('manage', 'Note')
  if (role === 'member') {
    can('create', 'Note')
    can(['read', 'update', 'delete'], 'Note', { ownerId: sub })
  }
  return build()
}
