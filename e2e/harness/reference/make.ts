// Writes the pages of docs/reference that are made from what a service says of itself: node e2e/harness/reference/make.ts
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../launch.ts'
import { startService } from '../service.ts'
import { referencePages } from './pages.ts'

await using service = await startService()
for (const [name, text] of await referencePages(service))
  writeFileSync(join(ROOT, 'docs/reference', name), text)
