import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runsWith } from '../harness/compatibility/runs.ts'
import type { Engine } from './engine.ts'
import { machineFolder, PARTS } from './own-machine.ts'

/** The name that `hss.container` has by default. */
export const MONGO = 'mongo'
const WAITS = ['sh', '-c', 'trap "exit 0" TERM; sleep infinity & wait'] as const
/** Answers every line with a line that no shell says, the first as if it were an answer. */
const GARBAGE = `#!/bin/sh
echo 'steeple-answer:0:{}'
while read -r line; do echo '%$ {{ MongoServerError: Infinity'; head -c 3000 /dev/urandom; echo; done
`

/** Starts the container that the HSS drivers reach mongosh in. `none`: it has no mongosh. */
export async function startMongoContainer(
  engine: Engine,
  shell: 'mongosh' | 'garbage' | 'none' = 'mongosh',
): Promise<void> {
  if (shell === 'mongosh') runsWith('mongosh', 'basename', PARTS.shell)
  const modules = { '/opt/mongosh/node_modules': join(PARTS.shell, 'node_modules') }
  const setUps = {
    mongosh: { mounts: modules, path: ['/opt/mongosh/node_modules/.bin'] },
    garbage: { mounts: { '/opt/garbage': garbageFolder() }, path: ['/opt/garbage'] },
    none: {},
  }
  await engine.start({ name: MONGO, command: WAITS, ...setUps[shell] })
}

/** The processes of mongosh that run in a container, in the namespace of the test. */
export function runningShells(): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && /\bnode\0.*mongosh|^mongosh/.test(commandLine(pid)))
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return '' // it has ended
  }
}

function garbageFolder(): string {
  const folder = join(machineFolder(), 'garbage')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'mongosh'), GARBAGE)
  chmodSync(join(folder, 'mongosh'), 0o755)
  return folder
}
