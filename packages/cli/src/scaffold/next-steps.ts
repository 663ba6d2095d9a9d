import { readFileSync } from 'node:fs'
import { packageRoot } from '../package-root.ts'
import { type ScaffoldKind, SELECTED_BY } from './kinds.ts'

/** Where the package was written. */
export interface NextStepsOptions {
  readonly name: string
  readonly kind: ScaffoldKind
  /** As the person would type it; not used inside the workspace. */
  readonly dir: string
  /** The root of the workspace that it is a package of. */
  readonly workspace: string | undefined
}

/** The commands that build, test and load the package, with a word on each. */
export function nextSteps({ name, kind, dir, workspace }: NextStepsOptions): string {
  if (workspace !== undefined)
    return `Next, in ${workspace}:
  npx --yes ${pnpm()} install      # links contracts and testkit, notes the package in the lockfile
  npm run build                          # what changed
  npm test -- packages/${name}/          # its conformance suite among them
  svc plugin load ./packages/${name}     # into the running service; --data-dir says where its data is
From the next start on it is part of this build. svc plugin dev ./packages/${name} loads it anew at each change.
${chosenBy(kind, name)}${leftToWrite(kind)}`
  return `Next, with Node 24:
  cd ${dir}
  npm install
  npm run build                # dist/plugin.js: one file
  npm test                     # its conformance suite among them
  svc plugin dev ./            # runs it in the service on this machine, anew at each change; Ctrl-C ends
  svc plugin key ~/plugins.key # once: what you sign with; it prints what goes into the configuration of a service
  npm run pack -- --key ~/plugins.key
  svc plugin load ${name}-0.1.0.tgz
${chosenBy(kind, name)}${leftToWrite(kind)}`
}

/** Of several drivers of a kind the configuration chooses one. */
function chosenBy(kind: ScaffoldKind, name: string): string {
  const key = SELECTED_BY[kind]
  if (key === undefined) return ''
  return `It runs once the configuration chooses it: ${key}: ${name.replaceAll('-', '_')}, then SIGHUP.\n`
}

/** What of a driver nobody but its author knows. */
function leftToWrite(kind: ScaffoldKind): string {
  if (kind !== 'core' && kind !== 'hss') return ''
  return 'Its conformance suite fails where something is left to you, with "here is what to write".\n'
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
