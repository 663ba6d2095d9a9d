import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { renderRadio } from '../../src/render/render-radio.ts'
import { readEnbFiles } from '../stand-in/enb-files.ts'
import { PROFILE } from '../support/lab.ts'
import { radioInput } from '../support/radio-input.ts'

const files = suite('driver-ran/files as srsenb reads them')

/** TS 36.101 table 5.7.3-1: the first downlink EARFCN of each FDD band whose files the program itself has taken. */
const FIRST_CHANNELS: Readonly<Record<string, number>> = {
  b1: 0,
  b2: 600,
  b3: 1_200,
  b4: 1_950,
  b5: 2_400,
  b6: 2_650,
  b7: 2_750,
  b8: 3_450,
  b9: 3_800,
  b10: 4_150,
  b11: 4_750,
  b12: 5_010,
  b13: 5_180,
  b14: 5_280,
  b17: 5_730,
  b18: 5_850,
  b19: 6_000,
  b20: 6_150,
  b21: 6_450,
  b23: 7_500,
  b24: 7_700,
  b25: 8_040,
  b26: 8_690,
  b27: 9_040,
  b28: 9_210,
  b30: 9_770,
  b31: 9_870,
}

/** What the program says of files that differ from the rendered ones by `edit`. */
async function verdict(
  bandwidth_mhz: number,
  channel: number,
  edit: (name: string, content: string) => string = (_, content) => content,
): Promise<string> {
  await using folder = await tempDir()
  const directory = join(folder.path, 'ran')
  mkdirSync(directory)
  const profile = { technology: PROFILE.technology, channel, bandwidth_mhz, tx_gain_db: 40 }
  const plan = renderRadio(radioInput({ profile, directory }))
  for (const [name, content] of plan.rendered.files) writeFileSync(join(directory, name), edit(name, content))
  const { lines, code } = readEnbFiles(plan.mainFile)
  return [...lines, code ?? 'starts'].join(' | ')
}

for (const bandwidth of [1.4, 3, 5, 10, 15, 20]) {
  files(`are taken for ${bandwidth} MHz in each band, and the cell serves phones`, async () => {
    for (const [band, channel] of Object.entries(FIRST_CHANNELS)) {
      assert.is(await verdict(bandwidth, channel + 10), 'starts', band)
    }
  })
}

const without =
  (file: string, from: string, to?: string) =>
  (name: string, content: string): string => {
    if (name !== file) return content
    return (
      content.slice(0, content.indexOf(from)) + (to === undefined ? '' : content.slice(content.indexOf(to)))
    )
  }

files('are refused as the program refuses them', async () => {
  assert.match(
    await verdict(5, 3_350, without('rb.conf', 'srb1_5g')),
    /Error section five_qi_config .* \| 255/,
  )
  assert.match(
    await verdict(5, 3_350, without('rb.conf', 'srb1_5g', 'five_qi')),
    /Optional 5G SRB configuration is not supported yet.* \| 255/,
  )
  assert.match(
    await verdict(5, 3_350, (_, content) => content.replace(/tac = 7;/, '')),
    /Field "tac" doesn't exist.* \| 255/,
  )
  assert.match(
    await verdict(5, 3_350, (name, content) => (name === 'rr.conf' ? `${content}}` : content)),
    /Parse error at .*rr\.conf.* \| 255/,
  )
  assert.match(
    await verdict(5, 3_350, (_, content) => content.replace('n_rb_cqi = 1', 'n_rb_cqi = 3')),
    /prach_freq_offset=1 collides with PUCCH.* \| 255/,
  )
  assert.match(
    await verdict(1.4, 3_350, (_, content) => content.replace('n_rb_cqi = 1', 'n_rb_cqi = 2')),
    /nrb_pucch=2 does not allow space for Msg3.* \| starts/,
  )
  assert.match(
    await verdict(5, 3_350, (_, content) => content.replace('dl_earfcn = 3350', 'dl_earfcn = 68960')),
    /Invalid DL_EARFCN=68960 .* \| 255/,
  )
})

files('leave no phone a cell to see in a band above b64, and are not rendered for one', async () => {
  for (const channel of [65_536, 66_436, 67_536, 68_336, 68_586]) {
    const edit = (_: string, content: string): string =>
      content.replace('dl_earfcn = 3350', `dl_earfcn = ${channel}`)
    assert.match(await verdict(5, 3_350, edit), /Couldn't generate SIBs\. \| starts/)
    assert.throws(
      () => renderRadio(radioInput({ profile: { ...PROFILE, channel: channel + 10 } })),
      /lies in b\d+; srsenb can announce bands up to b64, so no phone would see the cell/,
    )
  }
})

files.run()
