/** Commander infers what its options and arguments give to an action: types alone, nothing of it runs. */
declare module 'commander' {
  export * from '@commander-js/extra-typings'
}
