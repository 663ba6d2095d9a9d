import { assert, suite } from '@steeple/testkit'
import { keepFor, packagesIn, readFront } from '../src/marks.ts'

const marks = suite('docs/marks')

const TEXT = `# Page

All.

<!-- package: mesh -->
Of the mesh.
<!-- /package -->

- one <!-- package: backup -->
- two
`

marks('leaves out what belongs to packages that a build lacks, lines and parts, and every mark', () => {
  assert.is(keepFor(TEXT, new Set()), '# Page\n\nAll.\n\nOf the mesh.\n\n- one\n- two\n')
  assert.is(keepFor(TEXT, new Set(['mesh'])), '# Page\n\nAll.\n\n- one\n- two\n')
  assert.is(keepFor(TEXT, new Set(['mesh', 'backup'])), '# Page\n\nAll.\n\n- two\n')
})

marks('says what does not fit', () => {
  assert.throws(() => keepFor('<!-- package: mesh -->\nx\n', new Set()), /the part of mesh does not end/)
  assert.throws(() => keepFor('<!-- /package -->\n', new Set()), /line 1: .* does not fit/)
  assert.throws(
    () => keepFor('<!-- package: a -->\n<!-- package: b -->\n', new Set()),
    /line 2: .* does not fit/,
  )
})

marks('reads what a page needs as a whole, and names all packages of its marks', () => {
  const source = `---\npackage: alerts\n---\n\n${TEXT}`
  assert.equal(readFront(source), { needs: 'alerts', words: '', text: TEXT })
  assert.equal(readFront(TEXT), { needs: undefined, words: '', text: TEXT })
  const found = '---\nsearch: lost phone\n---\n\n# Page\n'
  assert.equal(readFront(found), { needs: undefined, words: 'lost phone', text: '# Page\n' })
  assert.equal([...packagesIn(source)], ['alerts', 'mesh', 'backup'])
})

marks.run()
