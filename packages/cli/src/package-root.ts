import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** This package's folder, with a final slash: the parent of both `src` and `dist`. */
export function packageRoot(): URL {
  return new URL('../', import.meta.url)
}

/** What `npm run build -- --without` has left out. */
export function leftOut(): ReadonlySet<string> {
  const file = new URL('left-out.json', packageRoot())
  if (!existsSync(file)) return new Set()
  // Written by the build.
  return new Set(JSON.parse(readFileSync(file, 'utf8')) as readonly string[])
}

/** The folder of the lab core's programs: beside this package in a build, in `lab/` of a checkout; undefined where it was left out. */
export function labCorePrograms(): string | undefined {
  if (leftOut().has('lab-core')) return undefined
  return ['../lab-core/dist/', '../../lab/lab-core/dist/']
    .map((place) => fileURLToPath(new URL(place, packageRoot())))
    .find((folder) => existsSync(`${folder}main.js`))
}
