import { readFileSync } from 'node:fs'
import { tempDir } from '@steeple/testkit'
import type { How } from '../../src/gtpu/traffic.ts'
import { type LabCore, type LabOptions, startLabCore } from '../../src/lab-core.ts'
import type { Enb } from '../../src/mme/mme.ts'
import type { PhoneTimers } from '../../src/phones/phone.ts'

export const RECORDED_ENB: Enb = {
  enbId: 348004,
  cellId: 17275823,
  plmn: '99970',
  tac: 1,
  peer: '[127.0.0.200]:54201',
  maxOutStreams: 30,
}

/** The subscriber of the recordings. */
export const RECORDED = {
  imsi: '999707364000060',
  ki: '465b5ce8b199b49faa5f0a2ee238a6bc',
  opc: 'e8ed289deba952e4283b54e88e6183ca',
}

/** Phones that wait as briefly as a test can: an attach that a busy machine does not answer in time is asked for again. */
export const QUICK: PhoneTimers = {
  t3410Ms: 150,
  t3411Ms: 30,
  t3402Ms: 60,
  reattachMs: 20,
  inactivityMs: 60_000,
}

/** As these, but nothing is asked a second time because the machine is busy. */
export const PATIENT: PhoneTimers = { ...QUICK, t3410Ms: 60_000 }

/** As an eNB sends, as fast as it goes. */
export const FAST: How = { bitsPerSecond: undefined, on: 's1u' }

const anywhere = { host: '127.0.0.1', port: 0 }

/** A lab core on free ports in `directory`, or in one that goes with it. */
export async function startLab(options: Partial<LabOptions> = {}): Promise<LabCore & AsyncDisposable> {
  const own = options.directory === undefined ? await tempDir('steeple-lab-') : undefined
  const lab = await startLabCore({
    directory: own?.path ?? '',
    listen: {
      mme: anywhere,
      smf: anywhere,
      upf: anywhere,
      hss: anywhere,
      pcrf: anywhere,
      control: anywhere,
    },
    gtpu: { enb: anywhere, sgwu: anywhere },
    enb: RECORDED_ENB,
    timers: PATIENT,
    hopMs: 1,
    ...options,
  })
  const end = async (): Promise<void> => {
    await lab.close()
    await own?.remove()
  }
  return { ...lab, [Symbol.asyncDispose]: end }
}

export function recorded(name: string): string {
  return readFileSync(new URL(`../../fixtures/${name}`, import.meta.url), 'utf8')
}
