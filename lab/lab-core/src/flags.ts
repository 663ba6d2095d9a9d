import { parseArgs } from 'node:util'
import type { Listen } from './info/info-server.ts'
import type { LabOptions } from './lab-core.ts'

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
export function labOptions(words: readonly string[]): LabOptions {
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
