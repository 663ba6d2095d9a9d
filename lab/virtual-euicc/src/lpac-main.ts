#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { openEuiccFile } from './euicc-file.ts'
import { lpacBridge, lpacFetch } from './lpac-bridge.ts'

const USAGE = `lpac-main --euicc FILE [--lpac lpac] [--base-url http://127.0.0.1:PORT] [--curl] -- WORDS FOR lpac
  runs an unmodified lpac on the eUICC that FILE holds; its HTTP goes to --base-url, or by its own curl with --curl
`

const { values, positionals } = parseArgs({
  options: {
    euicc: { type: 'string' },
    lpac: { type: 'string', default: 'lpac' },
    'base-url': { type: 'string' },
    curl: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
if (values.euicc === undefined) {
  process.stderr.write(USAGE)
  process.exitCode = 2
} else process.exitCode = await run(values.euicc)

/** Runs lpac once; 0 when it ended well. */
async function run(file: string): Promise<number> {
  const { euicc, save } = await openEuiccFile(file)
  const bridge = lpacBridge(euicc, lpacFetch(values['base-url']))
  const child = spawn(values.lpac, positionals, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, LPAC_APDU: 'stdio', LPAC_HTTP: values.curl ? 'curl' : 'stdio' },
  })
  let code = 1
  for await (const line of createInterface({ input: child.stdout })) {
    const answer = await bridge(line)
    if ('reply' in answer) child.stdin.write(`${answer.reply}\n`)
    else process.stdout.write(`${line}\n`)
    if ('result' in answer) code = answer.result.code === 0 ? 0 : 1
  }
  await save()
  return code
}
