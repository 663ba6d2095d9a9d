export {
  failure,
  onEachStore,
  onPostgres,
  opened,
  type StoreBox,
  TOY,
  TOY_MIGRATIONS,
  type ToyRow,
  toy,
} from './each-store.ts'
