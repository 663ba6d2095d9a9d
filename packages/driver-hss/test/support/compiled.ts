import { join } from 'node:path'

/** Where programs of tests keep what they have compiled, as the tests themselves do. */
export const COMPILED: string = join(import.meta.dirname, '../../../../node_modules/.cache/tests')
