/** The resources whose objects the store keeps: neither built-in ones, nor those that are kept elsewhere. */
import type { Resource, Resources } from './resource.ts'

export function storedResources({ byName }: Pick<Resources, 'byName'>): readonly Resource[] {
  return [...byName.values()].filter(({ builtIn, external }) => !builtIn && !external)
}
