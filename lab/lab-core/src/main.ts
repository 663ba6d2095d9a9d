#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { clientCommand, USAGE } from './client.ts'
import type { Listen } from './info/info-server.ts'
import { type LabOptions, startLabCore } from './lab-core.ts'

/** The flags of `lab-core serve` with what they are without a word. */
const FLAGS = {
  dir: { type: 'string', default: 'data/lab-core' },
  mme: { type: 'string', default: '127.0.0.2:9090' },
  smf: { type: 'string', default: '127.0.0.4:9090' },
  upf: { type: 'string', default: '127.0.0.7:9090' },
  hss: { type: 'string', default: '127.0.0.8:9090' },
  pcrf: { type: 'string', default: '127.0.0.9:9090' },
  enb: { type: 'string', default: '127.0.0.200:2152' },
  sgwu: { type: 'string', default: '127.0.0.6:2152' },
  capture: { type: 'string' },
  control: { type: 'string', default: '127.0.0.2:9091' },
  plmn: { type: 'string', default: '99999' },
  tac: { type: 'string', default: '7' },
} as const

const LISTEN = /^(127(?:\.\d{1,3}){3}):(\d{1,5})$/
/** TS 23.003 §19.4.2.3: a TAC of 4G has 16 bits. */
const TAC_MAX = 0xffff

/** The options in the words after `serve`. Throws with a line for the user. */
function labOptions(words: readonly string[]): LabOptions {
  const { values } = parseArgs({ args: [...words], options: FLAGS })
  if (!/^[0-9]{5,6}$/.test(values.plmn)) throw new Error('--plmn takes MCC and MNC, 5 or 6 digits')
  const tac = Number(values.tac)
  if (!Number.isInteger(tac) || tac < 0 || tac > TAC_MAX) throw new Error('--tac takes 0 to 65535')
  return {
    directory: values.dir,
    listen: {
      mme: listenOf('--mme', values.mme),
      smf: listenOf('--smf', values.smf),
      upf: listenOf('--upf', values.upf),
      hss: listenOf('--hss', values.hss),
      pcrf: listenOf('--pcrf', values.pcrf),
      control: listenOf('--control', values.control),
    },
    gtpu: { enb: listenOf('--enb', values.enb), sgwu: listenOf('--sgwu', values.sgwu) },
    capture: values.capture,
    // eNB 411, cell 1: what the service's own radio is without a word.
    enb: {
      enbId: 411,
      cellId: (411 << 8) | 1,
      plmn: values.plmn,
      tac,
      peer: '[127.0.0.200]:54201',
      maxOutStreams: 30,
    },
  }
}

/** Loopback only: nobody has to authenticate here. */
function listenOf(flag: string, text: string): Listen {
  const [, host = '', port = ''] = LISTEN.exec(text) ?? []
  if (host === '' || Number(port) > 65_535) throw new Error(`${flag} takes a loopback address and a port`)
  return { host, port: Number(port) }
}

const [command = 'help', ...words] = process.argv.slice(2)
// The store holds keys.
process.umask(0o077)
if (command === 'serve') await serve()
else if (command === 'help' || command === '--help') process.stdout.write(USAGE)
else process.exitCode = await clientCommand(command, words, process.env.LAB_CORE_URL)

/** Runs until SIGTERM or SIGINT; as a child with a channel, until its parent closes that, however it ends. */
async function serve(): Promise<void> {
  const parent = process.send?.bind(process)
  const ending = endOf(parent !== undefined)
  try {
    const lab = await startLabCore({ ...labOptions(words), failed: say })
    const places = Object.entries(lab.urls).map(([place, url]) => `${place} ${url}\n`)
    if (parent === undefined) process.stdout.write(places.join(''))
    else parent({ urls: lab.urls, tunnels: lab.path.addresses })
    await ending
    await lab.close()
    process.exit(0)
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    if (parent === undefined) process.stderr.write(`lab-core: ${problem}\n`)
    else parent({ problem })
    process.exitCode = 1
    process.disconnect?.()
  }
}

function say(problem: unknown): void {
  process.stderr.write(`lab-core: ${problem instanceof Error ? problem.message : String(problem)}\n`)
}

/** What ends it. A terminal's Ctrl-C reaches everybody, and the service still needs its core while it stops. */
function endOf(isChild: boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (!isChild) resolve()
    })
  process.once('disconnect', resolve)
  return promise
}
