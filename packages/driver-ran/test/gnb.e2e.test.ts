import { randomUUID } from 'node:crypto'
import { type Instance, type RanDriver, ranDriverRef, type TxGate, txGateRef } from '@steeple/contracts'
import {
  assert,
  eventually,
  type InlinePlugin,
  loadTestbed,
  pluginFrom,
  tempDir,
  unusedPort,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import { fakeGate } from './support/gate.ts'
import { readSamples, standInFiles } from './support/lab.ts'
import { processSuite } from './support/process-suite.ts'
import { NR_PROFILE } from './support/radio-input.ts'

/** A gate in the place of that plugin; `onSetup` is given how to say that it changed. */
function providers(gate: TxGate, onSetup: (changed: () => void) => void): InlinePlugin {
  return {
    name: '@example/providers',
    version: '1.0.0',
    plugin: {
      setup: async (context): Promise<Instance> => {
        onSetup(() => context.changed(txGateRef))
        return { services: new Map([[txGateRef.id, gate]]) }
      },
    },
    manifest: {
      id: 'providers',
      kind: 'feature',
      contracts: '*',
      config_path: 'providers',
      provides: [txGateRef.id],
      handover: 'overlap',
    },
  }
}

const gnb = processSuite('driver-ran/gnb')

const CELL =
  'Cell pci=1, bw=20 MHz, 1T1R, dl_arfcn=632628 (n78), dl_freq=3489.42 MHz, dl_ssb_arfcn=632256, ul_freq=3489.42 MHz'
const ngap = (connected: boolean) => ({ 'cu-cp': { ngaps: { ngap: [{ amf_name: 'amf', connected }] } } })

gnb(
  'knows NG and phones from the metrics of gnb, and its loss',
  async () => {
    await using folder = await tempDir()
    const radio = standInFiles(folder.path)
    const port = await unusedPort()
    radio.play({
      lines: [
        { atMs: 50, stream: 'out', text: 'N2: Connection to AMF on 127.0.0.5:38412 completed' },
        { atMs: 60, stream: 'out', text: CELL },
        { atMs: 100, stream: 'out', text: '==== gNB started ===' },
      ],
      onAirAtMs: 100,
      phones: 2,
      metricsPort: port,
      metrics: [
        ngap(true),
        { cells: [{ ue_list: [{ rnti: 17_921 }, { rnti: 17_922 }] }] },
        ...Array.from({ length: 100 }, () => ngap(true)),
        ngap(false),
      ],
    })
    const gate = fakeGate({ mast: NR_PROFILE })
    let changed = (): void => undefined
    const { startTestbed } = await loadTestbed()
    const bed = await startTestbed({
      plugins: [
        await pluginFrom(import.meta.url, plugin),
        providers(gate, (tell) => {
          changed = tell
        }),
      ],
      settings: {
        ran: {
          program: 'gnb',
          binary: radio.binary,
          device_name: 'uhd',
          device_args: `serial=${randomUUID()}`,
          remote_control_port: port,
          profiles: { mast: NR_PROFILE },
        },
      },
    })
    try {
      gate.arm('mast')
      changed()
      const driver = bed.service<RanDriver>(ranDriverRef)
      const look = async () => await driver?.observe(new AbortController().signal)
      await eventually(async () => {
        const seen = await look()
        return seen?.isConnected === true && seen.attachedUes === 2 && seen.mode === 'nr'
      })
      await eventually(async () => (await look())?.isConnected === false)
      assert.is((await look())?.attachedUes, 0)
      assert.ok(readSamples(radio.samples).length > 0)
    } finally {
      await bed.stop()
    }
  },
  { limitMs: 360_000 },
)

gnb.run()
