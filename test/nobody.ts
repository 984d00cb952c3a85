/** A user without rights, as whom tests that run as root start programs. */
export const NOBODY = 65_534

/** Stands before the words of a command. */
export const AS_NOBODY = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--inh-caps=-all']
