import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../launch.ts'

const SUPPORT = join(ROOT, 'packages/driver-hss/test/support')

/** An engine that runs `mongosh` as a process of this machine; see the tests of the HSS driver. */
export interface HostEngine {
  readonly socket: string
  mood: 'well' | 'hang' | 'garbage' | 'unreachable-database'
  close(): Promise<void>
}

/** Starts one whose `mongosh` reaches the database on `port`. */
export async function startHostEngine(port: number): Promise<HostEngine> {
  // That file exports it.
  const { startEngine } = (await import(join(SUPPORT, 'stand-in-engine.ts'))) as {
    startEngine(port: number): Promise<HostEngine>
  }
  return await startEngine(port)
}

/** A folder with an executable `open5gs-dbctl`. */
export interface TestTool {
  readonly path: string
  remove(): Promise<void>
}

/** The stock tool's behaviour over the database that its URL names. */
export async function makeMongoDbctl(): Promise<TestTool> {
  // That file exports it.
  const tools = (await import(join(SUPPORT, 'dbctl-tool.ts'))) as { makeMongoDbctl(): Promise<TestTool> }
  return await tools.makeMongoDbctl()
}

/** A tool that repeats whatever it is told, as an error, on both of its outputs. `isBatch`: it takes standard input. */
export function makeEchoingDbctl(isBatch: boolean): string {
  const path = join(mkdtempSync(join(tmpdir(), 'steeple-dbctl-')), 'open5gs-dbctl')
  const commands = ['add_ue_with_apn', 'remove', 'showpretty', ...(isBatch ? ['batch', 'show', 'block'] : [])]
  const help = commands.map((name) => `   ${name}:`).join('\n')
  writeFileSync(
    path,
    `#!/bin/sh
case "$*" in *help*) echo "${help}"; exit 0;; esac
echo "MongoServerError: $* $(timeout 1 cat)" | tee /dev/stderr
exit 1
`,
  )
  chmodSync(path, 0o755)
  return path
}
