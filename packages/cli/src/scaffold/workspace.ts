import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The root of the workspace around a folder: the one whose packages/contracts is `@steeple/contracts`. */
export function findWorkspace(from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'pnpm-workspace.yaml')) && hasContracts(folder)) return folder
    if (dirname(folder) === folder) return undefined
  }
}

function hasContracts(folder: string): boolean {
  try {
    const text = readFileSync(join(folder, 'packages', 'contracts', 'package.json'), 'utf8')
    const manifest: unknown = JSON.parse(text)
    return (manifest as { readonly name?: unknown } | null)?.name === '@steeple/contracts'
  } catch {
    return false
  }
}
