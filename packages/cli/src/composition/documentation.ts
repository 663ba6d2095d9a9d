import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageRoot } from '../package-root.ts'

/** In a build beside everything, in a checkout where its package makes it. */
const PLACES = ['../../../../share/doc/html/', '../docs/dist/']

/** The folder of the documentation that this build carries; undefined when it carries none. */
export function documentationHere(): string | undefined {
  return PLACES.map((place) => fileURLToPath(new URL(place, packageRoot()))).find((folder) =>
    existsSync(join(folder, 'index.html')),
  )
}
