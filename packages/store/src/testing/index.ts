export { failure, onEachStore, onPostgres, opened, type StoreBox } from './each-store.ts'
export { TOY, TOY_MIGRATIONS, type ToyRow, toy } from './toy.ts'
