import { readFileSync, statSync } from 'node:fs'
import type { ProfileTemplate } from '../parts.ts'
import { MAX_TEMPLATE_OCTETS } from './read.ts'
import { loadLeanTemplate, loadTemplate } from './template.ts'
import { TemplateError } from './template-error.ts'

/** Beside `src` and `dist`, as it is in the package. */
const BUNDLED = new URL(
  'TS48_V7.0_eSIM_GTP_SAIP2.3_NoBERTLV_NoRAMRFM.der',
  new URL(import.meta.url.endsWith('.ts') ? '../../templates/' : '../templates/', import.meta.url),
)

/**
 * The template in a file (`esim.template`), the bundled one for an empty path. Throws `TemplateError` for one that is of no
 * use, and what the file system says of one that cannot be read.
 */
export function readTemplate(path: string): ProfileTemplate {
  const file = path === '' ? BUNDLED : path
  const { size } = statSync(file)
  if (size > MAX_TEMPLATE_OCTETS)
    throw new TemplateError({
      offset: 0,
      path: 'the file',
      what: `has more than ${MAX_TEMPLATE_OCTETS} octets`,
    })
  // One of an operator's own is as its card vendor has made it.
  return (path === '' ? loadLeanTemplate : loadTemplate)(readFileSync(file))
}
