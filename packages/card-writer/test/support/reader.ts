import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A card of the stand-in. `files`: names that pySim-shell has, and what they hold in hexadecimal. */
export interface StandInCard {
  readonly model: string
  readonly adm: string
  readonly tries: number
  readonly isWornOut?: boolean
  readonly files: Readonly<Record<string, string>>
}

export interface StandInReader {
  /** To be called as pySim-shell is. */
  readonly program: string
  put(card: StandInCard | null): Promise<void>
  card(): Promise<StandInCard>
  /** Arguments and environment that it was ever called with. */
  seen(): Promise<string>
}

/** A blank card as its vendor delivers it; the ADM key is 1234 and the number of the card. */
export function blankCard(number: number, part: Partial<StandInCard> = {}): StandInCard {
  const iccid = `8988211${String(number).padStart(12, '0')}f`
  return {
    model: 'SysmocomSJA5',
    adm: Buffer.from(String(12_340_000 + number)).toString('hex'),
    tries: 3,
    files: {
      'EF.ICCID': iccid.replaceAll(/(.)(.)/g, '$2$1'),
      'EF.IMSI': '080910100000000010',
      'EF.ACC': '0000',
      'EF.AD': '00000002',
      'EF.HPLMNwAcT': 'f'.repeat(80),
      'EF.FPLMN': `99f907${'f'.repeat(18)}`,
      'EF.USIM_AUTH_KEY': `14${'0'.repeat(64)}`,
      'EF.SIM_AUTH_KEY': `14${'0'.repeat(64)}`,
    },
    ...part,
  }
}

/** A reader without a card, of which everything is in that folder. */
export async function standInReader(dir: string): Promise<StandInReader> {
  const state = join(dir, 'reader.json')
  const program = join(dir, 'pySim-shell')
  const standIn = fileURLToPath(new URL('stand-in.mjs', import.meta.url))
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${standIn}' '${state}' "$@"\n`, {
    mode: 0o755,
  })
  const put = (card: StandInCard | null): Promise<void> => writeFile(state, JSON.stringify({ card }))
  await put(null)
  return {
    program,
    put,
    card: async () => JSON.parse(await readFile(state, 'utf8')).card,
    seen: async () => (existsSync(`${state}.seen`) ? await readFile(`${state}.seen`, 'utf8') : ''),
  }
}
