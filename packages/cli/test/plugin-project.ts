import { execFile } from 'node:child_process'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cleanEnv } from './svc.ts'

export const PACKAGES: string = fileURLToPath(new URL('../../', import.meta.url))
const TESTING = join(PACKAGES, '../testing')

/** Stands for `npm install` in a project that `svc plugin new` wrote: the packages of this workspace are the same ones. */
export async function linkModules(dir: string): Promise<void> {
  const modules = join(dir, 'node_modules')
  for (const scope of ['@steeple', '@types']) await mkdir(join(modules, scope), { recursive: true })
  await symlink(join(PACKAGES, 'contracts'), join(modules, '@steeple', 'contracts'))
  for (const name of ['plugin-kit', 'testkit'])
    await symlink(join(TESTING, name), join(modules, '@steeple', name))
  await symlink(join(TESTING, 'plugin-kit/node_modules/@types/node'), join(modules, '@types/node'))
}

/** Builds such a project, its types included, as `npm run build` does. */
export async function buildProject(dir: string): Promise<void> {
  const kit = join(TESTING, 'plugin-kit/dist/main.js')
  await promisify(execFile)(process.execPath, [kit, 'build'], { cwd: dir, env: cleanEnv() })
}
