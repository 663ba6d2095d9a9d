import { ESIM_COMMANDS } from '../commands/esim.ts'
import type { Part } from '../part.ts'

/** `svc esim` */
export const part: Part = {
  commands: ESIM_COMMANDS,
  values: { codes: { path: '/v1/esim/codes', key: 'codes', field: 'token' } },
  arguments: { code: 'codes' },
}
