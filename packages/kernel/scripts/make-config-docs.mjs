// Writes docs/configuration.md from the configuration's schema.
import { writeFileSync } from 'node:fs'
import { configDocs } from '../src/config/config-docs.ts'

writeFileSync(new URL('../../../docs/configuration.md', import.meta.url), configDocs())
