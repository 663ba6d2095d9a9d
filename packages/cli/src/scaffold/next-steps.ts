import { readFileSync } from 'node:fs'
import { packageRoot } from '../package-root.ts'

/** Where the package was written. */
export interface NextStepsOptions {
  readonly name: string
  /** As the person would type it; not used inside the workspace. */
  readonly dir: string
  /** The root of the workspace that it is a package of. */
  readonly workspace: string | undefined
}

/** The commands that build, test and load the package, with a word on each. */
export function nextSteps({ name, dir, workspace }: NextStepsOptions): string {
  if (workspace !== undefined)
    return `Next, in ${workspace}:
  npx --yes ${pnpm()} install      # links contracts and testkit, notes the package in the lockfile
  npm run build                          # what changed
  npm test -- packages/${name}/          # its conformance suite among them
  svc plugin load ./packages/${name}     # into the running service; --data-dir says where its data is
From the next start on it is part of this build.
`
  return `Next:
  cd ${dir}
  npx --yes ${pnpm()} install    # tsup, uvu, typescript; contracts and testkit are linked from this installation
  npx tsup                             # builds dist/plugin.js: one file
  npx uvu test "\\.test\\.ts$"           # its conformance suite among them; needs Node 24
  svc plugin load ./                   # into the running service; --data-dir says where its data is
`
}

/** npm cannot follow `link:` dependencies; the workspace's package manager can. */
function pnpm(): string {
  try {
    const text = readFileSync(new URL('../../package.json', packageRoot()), 'utf8')
    const { packageManager } = JSON.parse(text) as { readonly packageManager?: string }
    return packageManager ?? 'pnpm'
  } catch {
    return 'pnpm'
  }
}
