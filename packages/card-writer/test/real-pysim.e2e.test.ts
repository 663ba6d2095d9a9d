import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { Imsi } from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import { assert, suite } from '@steeple/testkit'
import { readCard, writeCard } from '../src/pysim.ts'
import { cardScript } from '../src/script.ts'

/*
 * Against pySim-shell and the card in reader 0, a software card or one of plastic, which it overwrites: `SVC_TEST_PYSIM` is the program,
 * `SVC_TEST_PYSIM_ADM` the ADM key of the card. A wrong key is tried once, and the right one resets the count.
 */
const test = suite('card-writer/real-pysim')
const { SVC_TEST_PYSIM: program = '', SVC_TEST_PYSIM_ADM: adm = '' } = process.env
const writer = { program, reader: 0 }

interface Drawn {
  readonly imsi: string
  readonly ki: Buffer
  readonly script: string
}

function drawn(plmn: string): Drawn {
  const start = plmn.replace('-', '')
  const imsi =
    start +
    String(randomBytes(6).readUIntBE(0, 6))
      .slice(-6)
      .padStart(15 - start.length, '0')
  const [ki, opc] = [randomBytes(16), randomBytes(16)]
  const credentials = { imsi, ki, opc, wipe: () => undefined }
  return {
    imsi,
    ki,
    script: cardScript({ view: { plmn }, credentials: () => credentials } as never, 'Dorf Ähre'),
  }
}

/** What everybody on the machine can see of processes, while `work` runs. */
async function seenDuring(work: Promise<unknown>): Promise<string> {
  let isDone = false
  const ended = work.finally(() => {
    isDone = true
  })
  let seen = ''
  while (!isDone) {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
      for (const file of ['cmdline', 'environ'])
        try {
          const text = readFileSync(`/proc/${pid}/${file}`, 'latin1')
          if (/pySim/i.test(text)) seen += text
        } catch {
          // It has ended meanwhile.
        }
    await new Promise(setImmediate)
  }
  await ended
  return seen
}

if (program === '') process.stdout.write('needs SVC_TEST_PYSIM, pySim-shell with a card\n')
else {
  for (const plmn of ['999-70', '310-410'])
    test(`writes and compares a SIM of ${plmn}, and no process shows it`, async () => {
      const { imsi, ki, script } = drawn(plmn)
      const before = await readCard(writer)
      const seen = await seenDuring(writeCard(writer, script, adm))
      assert.match(seen, '--script', 'pySim was seen')
      for (const secret of [imsi, ki.toString('hex')]) assert.not.match(seen, secret)
      const { iccid, hash } = await readCard(writer)
      assert.equal([iccid, hash], [before.iccid, imsiHash(imsi as Imsi)])
    })

  test('says that the ADM key is wrong, without it', async () => {
    const { script } = drawn('999-70')
    const wrong = adm === '99999999' ? '88888888' : '99999999'
    const error = await writeCard(writer, script, wrong).then(() => undefined, String)
    assert.match(String(error), /refuses the ADM key; \d+ tries are left/)
    assert.not.match(String(error), /9{8}|(39){8}/)
    await writeCard(writer, drawn('999-70').script, adm)
  })

  test('says which reader is not there', async () => {
    const error = await readCard({ program, reader: 31 }).then(() => undefined, String)
    assert.match(String(error), 'no card reader with this number')
  })
}

test.run()
