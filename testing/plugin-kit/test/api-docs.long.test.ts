import { readFile } from 'node:fs/promises'
import { assert, suite } from '@steeple/testkit'
import { apiPage } from '../scripts/api-docs.ts'

const docs = suite('plugin-kit/api-docs')

for (const name of ['contracts', 'testkit'] as const)
  docs(
    `has the API of ${name} as it is`,
    async () => {
      const page = new URL(`../../../docs/reference/api-${name}.md`, import.meta.url)
      assert.is(
        await readFile(page, 'utf8'),
        apiPage(name),
        'run node testing/plugin-kit/scripts/make-api-docs.mjs, and say what plugins have to change in a changeset',
      )
    },
    { limitMs: 240_000 },
  )

docs.run()
