import { esimNotReady } from '../codes/conflict.ts'
import type { EsimConfig } from '../config.ts'
import type { ProfileTemplate } from '../parts.ts'
import { readTemplate } from './template-file.ts'

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
