import { addQuotaCommand } from '../commands/sim-quota.ts'
import { addUsageCommand } from '../commands/usage.ts'
import type { Part } from '../part.ts'

/** `svc usage`, `svc sim quota` */
export const part: Part = { commands: [addUsageCommand], simCommands: [addQuotaCommand] }
