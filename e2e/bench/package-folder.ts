import { fileURLToPath } from 'node:url'

/** The folder of a package of this workspace. */
export function packageFolder(name: string): string {
  return fileURLToPath(new URL(`../../packages/${name}`, import.meta.url))
}
