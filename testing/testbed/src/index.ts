export { startTestbed } from './start-testbed.ts'
