import { assert, suite } from '@steeple/testkit'
import { cardScript, missingOf, namesIn, withAdm } from '../src/script.ts'
import { admIn } from '../src/vendor-file.ts'

const test = suite('card-writer/script')

const KI = '00112233445566778899aabbccddeeff'
const OPC = 'ffeeddccbbaa99887766554433221100'

function scriptFor(plmn: string, imsi: string, name = ''): string {
  const credentials = {
    imsi,
    ki: Buffer.from(KI, 'hex'),
    opc: Buffer.from(OPC, 'hex'),
    wipe: () => undefined,
  }
  return cardScript({ view: { plmn }, credentials: () => credentials } as never, name)
}

/** What pySim-shell prints of a script on a card that takes everything. */
function printed(script: string): string {
  return script
    .split('\n')
    .flatMap((line) => /^(?:echo (.*)|update_binary (.*))$/.exec(line)?.slice(1).filter(Boolean) ?? [])
    .map((text) => (/^[0-9a-f]+$/.test(text) ? `"${text}"` : text))
    .join('\n')
}

test('writes what TS 31.102 says, with a network code of two digits and of three', () => {
  const two = scriptFor('999-70', '999700000000012', 'Dorf')
  assert.match(two, 'select ADF.USIM\nselect EF.IMSI\nupdate_binary 089999070000000021\n')
  assert.match(two, 'select EF.ACC\nupdate_binary 0004\n')
  assert.match(two, 'select EF.AD\nupdate_binary 00000002\n')
  assert.match(two, 'select EF.HPLMNwAcT\nupdate_binary 99f907c800\n')
  assert.match(two, `select EF.USIM_AUTH_KEY\nupdate_binary 14${KI}${OPC}\n`)
  assert.match(two, `select EF.SPN\nupdate_binary 01446f7266${'f'.repeat(24)}\n`)
  const three = scriptFor('310-410', '310410000000019')
  assert.match(three, 'update_binary 083901140000000091\n')
  assert.match(three, 'select EF.AD\nupdate_binary 00000003\n')
  assert.match(three, 'select EF.HPLMNwAcT\nupdate_binary 130014c800\n')
  assert.not.match(three, 'EF.SPN')
})

test('has the ADM key in one place, as digits or octets', () => {
  const script = scriptFor('999-70', '999700000000012')
  assert.match(script, /^verify_adm$/m)
  assert.match(withAdm(script, '1234'), /^verify_adm --pin-is-hex 31323334ffffffff$/m)
  assert.match(withAdm(script, '00112233AABBCCDD'), /^verify_adm --pin-is-hex 00112233aabbccdd$/m)
})

test('believes no card that does not hold what was written', () => {
  const script = scriptFor('999-70', '999700000000012')
  const whole = printed(script)
  assert.equal(missingOf(script, whole), [])
  assert.equal(missingOf(script, ''), ['imsi', 'acc', 'ad', 'key'])
  // The key was confirmed, and another one is read.
  assert.equal(missingOf(script, whole.replace('== key-isim', `14${'0'.repeat(64)}\n== key-isim`)), ['key'])
  // A card that lets nobody read its keys, and one without ISIM, are fine.
  assert.equal(
    missingOf(script, whole.replace(/== key-isim\n.*\n/, '== key-isim\nValueError: Cannot select\n')),
    [],
  )
  const broken = whole.replace('"0004"', '"0008"')
  assert.equal(missingOf(script, broken), ['acc'])
})

test('reads the names of a card, and none where there is none', () => {
  const output = (iccid: string, imsi: string): string =>
    `INFO: x\n== iccid\n{}\n${iccid}\n== imsi\n{}\n${imsi}\n== end\n`
  const iccid = '988812010000002143f5'
  assert.equal(namesIn(output(iccid, '089999070000000021')), {
    iccid: '8988211000000012345',
    imsi: '999700000000012',
  })
  assert.is(namesIn(output(iccid, '"ffffffffffffffffff"')).imsi, undefined)
  assert.is(namesIn(output(iccid, 'SwMatchError: 6982')).iccid, '8988211000000012345')
  assert.equal(namesIn(''), { iccid: undefined, imsi: undefined })
})

test('finds the ADM key of a card in files as vendors write them', () => {
  const iccid = '8988211000000012345'
  assert.is(admIn('IMSI,ICCID,ACC,PIN1,ADM1\n1,8988211000000012345,1,1,12345678\n', iccid), '12345678')
  assert.is(admIn('\uFEFF"iccid";"adm1"\r\n"8988211000000012345";"87654321"\r\n', iccid), '87654321')
  assert.is(admIn('ADM1\tICCID\n00112233AABBCCDD\t898821100000001234\n', iccid), '00112233AABBCCDD')
  for (const none of [
    '',
    'ICCID,ADM1\n8988211000000012346,1234\n',
    'ICCID,PIN1\n8988211000000012345,1234\n',
    'x',
  ])
    assert.is(admIn(none, iccid), undefined)
})

test.run()
