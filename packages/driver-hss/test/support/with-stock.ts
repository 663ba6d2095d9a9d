import { dbctlDriver } from '../../src/dbctl/dbctl-driver.ts'
import type { WriteBackDriver } from '../../src/driver.ts'
import { type Executable, makeDbctl } from './stand-in-dbctl.ts'

/** Does `work` with a driver over the stand-in of the stock tool, or over the shell script `script`. */
export async function withStock(
  work: (driver: WriteBackDriver, tool: Executable) => Promise<void>,
  script?: string,
): Promise<void> {
  const tool = await makeDbctl(false, script)
  const driver = dbctlDriver({ path: tool.path, url: '', documents: undefined })
  try {
    await work(driver, tool)
  } finally {
    await tool.remove()
  }
}
