import { esimNotReady } from '../codes/conflict.ts'
import type { ProfileTemplate } from '../parts.ts'
import { readTemplate } from './template-file.ts'

/**
 * The template of `esim.template`, read and checked when it is first needed; one that cannot be used is looked at again each
 * time. Throws `esim_not_ready` with the position of what is wrong.
 */
export function templateInForce(path: string): () => ProfileTemplate {
  let template: ProfileTemplate | undefined
  return () => {
    try {
      template ??= readTemplate(path)
      return template
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const which =
        path === '' ? 'the bundled profile template' : `the profile template ${path} (esim.template)`
      throw esimNotReady(`${which} cannot be used: ${reason}`, { cause: error })
    }
  }
}
