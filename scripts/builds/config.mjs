// The configuration that a package comes with.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './parts.mjs'

/** The text of a file of the checkout for a build: nobody has a core yet when it is installed, and there is none to push to. */
export function configFor(file, { has }) {
  const text = readFileSync(join(root, file), 'utf8')
  if (!has.includes('driver-hss')) return text
  return `${text}# The subscriber database of your core; none until you name one.\nhss:\n  driver: none\n`
}
