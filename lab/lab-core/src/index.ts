/** What tests of other packages use of the simulator. */
export { type ContainerEngine, containerEngine } from './container-engine.ts'
export { BEYOND_STOCK, type DbctlStore, runDbctl } from './dbctl/commands.ts'
export { type ListedCore, listedCore } from './info/info-server.ts'
export { docsOf } from './store/ejson.ts'
export { subscribersInMemory } from './store/subscribers.ts'
