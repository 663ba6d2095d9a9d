import { readFileSync, statSync } from 'node:fs'
import { esimNotReady } from '../codes/conflict.ts'
import type { EsimConfig } from '../config.ts'
import type { ProfileTemplate } from '../parts.ts'
import { MAX_TEMPLATE_OCTETS, TemplateError } from './read.ts'
import { loadLeanTemplate, loadTemplate } from './template.ts'

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

/** The templates in force. Each throws `esim_not_ready` with the position of what is wrong. */
export interface Templates {
  /** For SIMs of that profile: the one of `esim.templates`, else that of `esim.template`. */
  of(profile: string): ProfileTemplate
  /** Looks at every one of them. */
  check(): void
}

/** Reads and checks each template when it is first needed; one that cannot be used is looked at again each time. */
export function templatesInForce({
  template,
  templates = [],
}: Pick<EsimConfig, 'template' | 'templates'>): Templates {
  const read = new Map<string, ProfileTemplate>()
  const at = (path: string): ProfileTemplate => {
    const known = read.get(path)
    if (known !== undefined) return known
    try {
      const found = readTemplate(path)
      read.set(path, found)
      return found
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const key = path === template ? 'esim.template' : 'esim.templates'
      const which = path === '' ? 'the bundled profile template' : `the profile template ${path} (${key})`
      throw esimNotReady(`${which} cannot be used: ${reason}`, { cause: error })
    }
  }
  return {
    of: (profile) => at(templates.find((one) => one.profile === profile)?.file ?? template),
    check: () => {
      for (const path of [template, ...templates.map(({ file }) => file)]) at(path)
    },
  }
}
