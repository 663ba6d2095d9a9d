import { readFileSync } from 'node:fs'
import { suite } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { configDocs } from '../../src/config/config-docs.ts'

const docs = suite('config/config-docs')

docs('is what docs/configuration.md says (else run packages/kernel/scripts/make-config-docs.mjs)', () => {
  assert.is(readFileSync(new URL('../../../../docs/configuration.md', import.meta.url), 'utf8'), configDocs())
})

docs.run()
