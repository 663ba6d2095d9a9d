import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** Has TypeScript look at a project (`tsconfig.json`), and print what is wrong. False when something is. */
export async function typeCheck(dir: string): Promise<boolean> {
  if (!existsSync(join(dir, 'tsconfig.json'))) throw new Error(`${dir} has no tsconfig.json`)
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json')
  // The package's own word for its command.
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly bin: { readonly tsc: string } }
  const args = [join(dirname(manifest), bin.tsc), '-p', join(dir, 'tsconfig.json'), '--noEmit']
  return (await exitCode(args, dir)) === 0
}

/** Runs a program by this Node, with this process's streams and more variables; gives its exit code. */
export function exitCode(
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  return new Promise((done, reject) => {
    const child = spawn(process.execPath, args, { cwd, stdio: 'inherit', env: { ...process.env, ...env } })
    child.on('error', reject)
    child.on('close', (code) => done(code ?? 1))
  })
}
