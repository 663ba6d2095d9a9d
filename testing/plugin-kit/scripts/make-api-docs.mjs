// Writes docs/reference/api-*.md: node testing/plugin-kit/scripts/make-api-docs.mjs
import { writeFileSync } from 'node:fs'
import { apiPage, PAGES } from './api-docs.ts'

for (const name of Object.keys(PAGES))
  writeFileSync(new URL(`../../../docs/reference/api-${name}.md`, import.meta.url), apiPage(name))
