import { COMPLIANCE_COMMANDS } from '../commands/compliance.ts'
import { addForgetCommand } from '../commands/sim-forget.ts'
import type { Part } from '../part.ts'

/** `svc compliance`, `svc sim forget` */
export const part: Part = { commands: COMPLIANCE_COMMANDS, simCommands: [addForgetCommand] }
