export { type BuiltPlugin, buildPlugin } from './build.ts'
export { typeCheck } from './type-check.ts'
