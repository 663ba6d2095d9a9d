import { addComplianceCommands } from '../commands/compliance.ts'
import { addForgetCommand } from '../commands/sim-forget.ts'
import type { Part } from '../part.ts'

/** `svc compliance`, `svc sim forget` */
export const part: Part = { addCommands: addComplianceCommands, addSimCommands: addForgetCommand }
