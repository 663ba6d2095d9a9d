import { assert, characterAt, LAST_CHARACTER, placeOfCharacter, suite } from '../src/index.ts'

const characters = suite('testkit/characters')

characters('counts all of Unicode, and no surrogate', () => {
  const places = [0, 0x41, 0xd7ff, 0xd800, 0xffff - 0x800, 0x10000 - 0x800, LAST_CHARACTER]
  const texts = places.map(characterAt)
  assert.equal(texts, ['\0', 'A', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}'])
  assert.equal(texts.map(placeOfCharacter), places)
  assert.throws(() => characterAt(LAST_CHARACTER + 1))
})

characters('finds the place of one character alone', () => {
  for (const text of ['', 'AB', '\ud800', '\udfff', '\u{10000}A', 'e\u0301', 65, undefined])
    assert.throws(() => placeOfCharacter(text), /character/)
})

characters.run()
